#pragma once
// What readers ask of YAML documents, so that a reference of all keys says what the program really
// reads.
//
//   YamlQuestions questions;
//   LoadExperiment("experiment.yaml");
//   for (const YamlQuestion& q : questions.all()) ...

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace impactlab {

// One question of a reader: a key that it read, or looked for.
struct YamlQuestion {
  std::filesystem::path file;  // as given to LoadYaml or ParseYaml
  // full name; entries of lists without their number: "bodies[].mass_kg"
  std::string key;
  // in words, as in messages; empty: asked only whether it is there
  std::string allowed;
  std::optional<std::string> otherwise;  // what stands for it where it is missing
  bool optional = false;                 // its absence was no fault of this question
  // the name is the writer's choice, such as that of a camera
  bool free_name = false;
  int line = 0;  // of the key in the file; 0: it is not there
  // what the key means, where the reader says it and asks nothing (YamlNode::Explain)
  std::string meaning;
};

// Collects the questions of all readers on this thread while it lives; the innermost of several.
class YamlQuestions {
 public:
  YamlQuestions();
  ~YamlQuestions();
  YamlQuestions(const YamlQuestions&) = delete;
  YamlQuestions& operator=(const YamlQuestions&) = delete;

  // In the order of asking, with repetitions.
  const std::vector<YamlQuestion>& all() const { return all_; }

 private:
  std::vector<YamlQuestion> all_;
  std::vector<YamlQuestion>* outer_;
};

}  // namespace impactlab
