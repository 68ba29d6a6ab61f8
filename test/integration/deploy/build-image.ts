/**
 * Builds the image without a container engine: every step of the Dockerfile is done for real, on folders that
 * stand for the file systems of its stages. What this cannot show is the base image itself.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import {
  copyOf,
  execFormOf,
  isInContext,
  pairsOf,
  projectDirectory,
  readDockerfile,
  type Stage,
  textsOf,
} from './dockerfile.js'

export interface BuiltImage {
  /** The folder that stands for `/` of the image. */
  readonly root: string
  /** `USER`, as numbers. */
  readonly uid: number
  readonly gid: number
  /** The image's own environment, its paths as they are outside. */
  readonly env: Readonly<Record<string, string>>
  /** Entry point without `node`, its paths as they are outside. */
  readonly entryPoint: readonly string[]
  readonly command: readonly string[]
}

/** Whether this process may hand files to the image's user and run as it. */
export const isRoot = process.getuid?.() === 0

/** `directory` has to be empty. Takes the files that git tracks, as they are now. */
export const buildImage = (directory: string): BuiltImage => {
  const context = join(directory, 'context')
  for (const file of git('ls-files', '-z').split('\0')) {
    if (file === '' || !isInContext(file) || !existsSync(join(projectDirectory, file))) continue
    mkdirSync(join(context, dirname(file)), { recursive: true })
    cpSync(join(projectDirectory, file), join(context, file))
  }
  const stages = readDockerfile()
  const rootOf = (stage: Stage) => join(directory, stage.name ?? 'image')
  for (const stage of stages) {
    const from = (name: string | null) => (name === null ? context : join(directory, name))
    buildStage(stage, rootOf(stage), from)
  }
  const image = stages.at(-1)
  if (image === undefined) throw new Error('the Dockerfile has no stage')
  const root = rootOf(image)
  const [uid = 0, gid = 0] = (textsOf(image, 'USER')[0] ?? '').split(':').map(Number)
  const outside = (text: string) => (text.startsWith('/') ? join(root, text) : text)
  const [node, ...entryPoint] = execFormOf(textsOf(image, 'ENTRYPOINT')[0] ?? '[]')
  if (node !== 'node') throw new Error(`the entry point is not node but ${node}`)
  return {
    root,
    uid,
    gid,
    env: Object.fromEntries(
      Object.entries(pairsOf(textsOf(image, 'ENV')[0] ?? '')).map(([key, value]) => [key, outside(value)]),
    ),
    entryPoint: entryPoint.map(outside),
    command: execFormOf(textsOf(image, 'CMD')[0] ?? '[]'),
  }
}

const buildStage = (stage: Stage, root: string, from: (stage: string | null) => string): void => {
  let workingDirectory = root
  mkdirSync(root, { recursive: true })
  chmodSync(root, 0o755)
  for (const { keyword, text } of stage.instructions) {
    if (keyword === 'WORKDIR') {
      workingDirectory = join(root, text)
      mkdirSync(workingDirectory, { recursive: true })
    }
    if (keyword === 'COPY') {
      const { from: name, sources, target } = copyOf(text)
      for (const source of sources) copy(join(from(name), source), workingDirectory, target)
    }
    if (keyword === 'RUN') run(outsideOf(text, root), workingDirectory)
  }
}

/** As COPY does: a folder's content into the target, a file into a target that ends with a slash. */
const copy = (source: string, workingDirectory: string, target: string): void => {
  const to = resolve(workingDirectory, target)
  const into = statSync(source).isFile() && target.endsWith('/') ? join(to, basename(source)) : to
  cpSync(source, into, { recursive: true, verbatimSymlinks: true })
}

/** Absolute paths of the image as they are here; only root can give files away. */
const outsideOf = (command: string, root: string): string => {
  const here = command.replaceAll(/(?<=\s)\/(?=\w)/g, `${root}/`)
  return isRoot ? here : here.replaceAll(/ --(owner|group)=\d+/g, '')
}

/** With the least of an environment, so that nothing of this checkout helps the build. */
const run = (command: string, workingDirectory: string): void => {
  const { PATH = '', HOME = '/' } = process.env
  execFileSync('/bin/sh', ['-c', command], { cwd: workingDirectory, env: { PATH, HOME }, stdio: 'pipe' })
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: projectDirectory, encoding: 'utf8', maxBuffer: 10_000_000 })
