# Gives doxygen the comments of a header: `// above` becomes `/// above`, `x;  // after` becomes `x;  ///< after`, the first block that of the file.
# Their text is plain: what doxygen would take for a command, a tag or a link is escaped.

function plain(text) {
  gsub(/\\/, "\\\\", text)
  gsub(/[@<>#%&]/, "\\\\&", text)
  return text
}

/^#pragma once/ { head = 1; print; next }
head && /^\/\// { print (head == 1 ? "/// \\file\n/// " : "/// ") plain(substr($0, 4)); head = 2; next }
head == 2 { head = 0 }
/^ *\/\// {
  # Below a comment behind code, at its column: that comment goes on.
  at = index($0, "//")
  print substr($0, 1, at - 1) (at == column ? "///< " : "/// ") plain(substr($0, at + 3))
  next
}
{
  column = 0
  at = match($0, /[^ ] +\/\/ /)
  if (at && $0 !~ /"[^"]*\/\/[^"]*"/) {
    column = at + RLENGTH - 3
    print substr($0, 1, column - 1) "///< " plain(substr($0, column + 3))
    next
  }
  print
}
