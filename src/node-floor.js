/**
 * Ends a process of a Node that is too old, with one line and exit 2. The command, the build and the demo load it before anything else.
 * So it is plain JavaScript that a Node of 2017 can parse, and it imports nothing.
 */

/** The same as `engines` in package.json. */
const FLOOR = [20, 19]

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < FLOOR[0] || (major === FLOOR[0] && minor < FLOOR[1])) {
  process.stderr.write(
    `fieldwork-sync: Node ${FLOOR.join('.')} or newer is needed, but ${process.execPath} is Node ${process.versions.node}. Nothing was read or changed\n`,
  )
  process.exit(2)
}
