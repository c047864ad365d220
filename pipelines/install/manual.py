#!/usr/bin/env python3
"""The manual page and the completions: manual.py PROGRAM VERSION FOLDER.

Writes impactlab.1.gz, made of the `--help` of the program and of each of its verbs, and the scripts that complete
verbs and options in bash, zsh and fish.
"""
import gzip, pathlib, re, subprocess, sys

EXIT_STATUS = (("0", "done"), ("1", "a requirement of --require is not met"),
               ("2", "the command line or a configuration file is wrong"),
               ("3", "nothing in the input can be used, coefficients are withheld, or output cannot be written"),
               ("4", "internal error"), ("130", "interrupted"))
FILES = (("/usr/share/impactlab/data", "sample recordings, experiment files of public data sets, scenarios, maps, plans, "
          "systems and tables of the literature; the commands shown under Examples run in a copy of this folder's parent"),
         ("/usr/share/doc/impactlab", "notation, formats and licences"))


def roff(text):
    """Text as roff prints it: backslashes, hyphens that can be copied, no requests at the start of a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def sections(text):
    """(what stands before the first heading, [(heading, lines)]) of a help text."""
    parts = re.split(r"^(\w+):\n", text, flags=re.M)
    return parts[0].strip(), [(parts[k], parts[k + 1].splitlines()) for k in range(1, len(parts), 2)]


def entries(lines):
    """[(name, meaning)] of the lines `  name   meaning`, whose meanings go on in lines set in deeper."""
    out = []
    for line in lines:
        found = re.match(r"  (\S.*?)(?:\s{2,}(.*))?$", line)
        if found:
            out.append([found[1], found[2] or ""])
        elif line.strip():
            out[-1][1] = (out[-1][1] + " " + line.strip()).strip()
    return out


def tagged(pairs):
    return "".join(f".TP\n\\fB{roff(name)}\\fR\n{roff(meaning)}\n" for name, meaning in pairs)


def page(help_of, version):
    about, (*_, (_, verbs)) = sections(help_of())
    about, usage = about.split("Usage:")
    verbs = entries(verbs)
    out = f'.TH IMPACTLAB 1 "" "impactlab {version}" "User Commands"\n.SH NAME\n'
    out += f"impactlab \\- friction and restitution from recordings of impacts\n.SH SYNOPSIS\n{roff(usage.strip())}\n"
    out += f".SH DESCRIPTION\n{roff(' '.join(about.split()))}\n.SH VERBS\n{tagged(verbs)}"
    out += ".SH OPTIONS OF THE VERBS\n"
    for verb, _ in verbs:
        about, parts = sections(help_of(verb))
        about, usage = about.split("Usage:")
        out += f".SS {verb}\n{roff(' '.join(about.split()))}\n.PP\n\\fB{roff(usage.strip())}\\fR\n"
        for heading, lines in parts:
            if heading == "Examples":
                text = "\n".join(roff(line.strip()) for line in lines if line.strip())
                out += f".PP\nExamples:\n.PP\n.nf\n.RS\n{text}\n.RE\n.fi\n"
            else:
                out += tagged(entry for entry in entries(lines) if not entry[0].startswith("-h,"))
    out += ".SH EXIT STATUS\n" + tagged(EXIT_STATUS) + ".SH FILES\n" + tagged(FILES)
    return out


def main(program, version, folder):
    def run(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = page(lambda *verb: run(*verb, "--help"), version)
    # The same program gives the same bytes.
    (folder / "impactlab.1.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    for shell in ("bash", "zsh", "fish"):
        (folder / f"completion.{shell}").write_text(run("completion", shell))


if __name__ == "__main__":
    main(*sys.argv[1:])
