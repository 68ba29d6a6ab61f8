/**
 * Ends the process, with one line and exit 2, on Windows, and if this version of Node is not supported. The command, the build and the demo
 * load this file before anything else. So it is plain JavaScript that the first Node with ES modules, 12.17, can parse, and it imports
 * nothing.
 */

/**
 * The same as `engines` in package.json: the oldest minor of each line that packages of ours support. The last entry also allows all newer
 * lines.
 */
const FLOORS = [
  [20, 19],
  [22, 12],
  [24, 0],
]

/** @param {string} problem */
const end = (problem) => {
  process.stderr.write(`fieldwork-sync: ${problem}. Nothing was read or changed\n`)
  process.exit(2)
}

if (process.platform === 'win32')
  end('Windows is not supported. Run it on Linux or macOS, or on Windows in WSL or a container')

const [major, minor] = process.versions.node.split('.').map(Number)
const newest = FLOORS[FLOORS.length - 1]
if (major < newest[0] && !FLOORS.some((floor) => floor[0] === major && floor[1] <= minor))
  end(`Node 20.19, 22.12, 24 or newer is needed, but ${process.execPath} is Node ${process.versions.node}`)
