/**
 * The steps of a release that need no service. docs/release.md names them.
 *
 * `node .ci/release.mjs check v1.2.3` compares the tag with every place that names the version, and prints `version=1.2.3`.
 * `node .ci/release.mjs pack` writes tarball, SBOM, checksums and notes into the empty directory `release`.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const directory = join(root, 'release')
const read = (path) => readFileSync(join(root, path), 'utf8')
const { name, version } = JSON.parse(read('package.json'))

/** The section of this version in the changelog, without its heading. Null without one that has a day. */
const notes = () => {
  const [, ...sections] = read('CHANGELOG.md').split(/^## (?=\[)/m)
  const section = sections.find((one) => one.startsWith(`[${version}]`))
  const [, text] = /^\[[^\]]+\] - \d{4}-\d{2}-\d{2}\n([\s\S]*)$/.exec(section ?? '') ?? []
  return text?.trim() ?? null
}

const check = (tag) => {
  const image = /^ +newTag: (.+)$/m.exec(read('config/kubernetes/kustomization.yaml'))?.[1]
  const wrong = [
    [tag === `v${version}`, `the tag is ${tag}, and package.json has the version ${version}`],
    [JSON.parse(read('package-lock.json')).version === version, 'package-lock.json has another version'],
    [notes() !== null, `CHANGELOG.md has no section "## [${version}] - DAY"`],
    [image === version, `config/kubernetes/kustomization.yaml has the image ${image}`],
  ].flatMap(([agrees, problem]) => (agrees ? [] : [problem]))
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  console.log(`version=${version}`)
}

const npmIn =
  (cwd) =>
  (...args) =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

/** Of an installation of its own: beside packages of development, `npm sbom --omit=dev` leaves out what both need. */
const sbom = () => {
  const place = mkdtempSync(join(tmpdir(), 'fieldwork-sync-sbom-'))
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      copyFileSync(join(root, file), join(place, file))
    const npm = npmIn(place)
    npm('ci', '--omit=dev')
    npm('pkg', 'delete', 'devDependencies')
    const document = JSON.parse(npm('sbom', '--sbom-format', 'cyclonedx'))
    // npm takes the name of the directory.
    document.metadata.component.name = name
    return `${JSON.stringify(document, null, 2)}\n`
  } finally {
    rmSync(place, { recursive: true })
  }
}

const pack = () => {
  const npm = npmIn(root)
  const write = (file, text) => writeFileSync(join(directory, file), text)
  mkdirSync(directory)
  npm('run', 'build')
  npm('pack', '--loglevel=error', '--pack-destination', directory)
  const files = [`${name}-${version}.tgz`, `${name}-${version}.cdx.json`]
  write(files[1], sbom())
  const sums = files.map((file) => {
    const sum = createHash('sha256').update(readFileSync(join(directory, file)))
    return `${sum.digest('hex')}  ${file}\n`
  })
  write('SHA256SUMS', sums.join(''))
  write('notes.md', `${notes()}\n`)
  console.log(`The release is in ${directory}`)
}

const [step, tag] = process.argv.slice(2)
try {
  if (step === 'check') check(tag)
  else if (step === 'pack') pack()
  else throw new Error('say check TAG, or pack')
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
