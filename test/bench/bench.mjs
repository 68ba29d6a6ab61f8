/**
 * `npm run bench -- NAME …` measures one thing, by the module of that name in this folder (docs/reference/npm-scripts.md). Without a
 * name it measures every figure that has a budget.
 */
import { readdirSync } from 'node:fs'

const NAMES = readdirSync(new URL('.', import.meta.url))
  .filter((name) => /^(?!bench|support)[a-z]+\.mjs$/.test(name))
  .map((name) => name.slice(0, -'.mjs'.length))
const [first] = process.argv.slice(2)
const name = first === undefined || first.startsWith('--') ? 'budgets' : first
if (!NAMES.includes(name)) {
  console.error(`there is no benchmark ${name}: choose among ${NAMES.join(', ')}`)
  process.exit(2)
}
// The module reads the arguments behind its name.
if (name === first) process.argv.splice(2, 1)
await import(`./${name}.mjs`)
