/**
 * Builds the image without a container engine. It runs every step of the Dockerfile on folders that represent the file
 * systems of its stages. It does not test the base image.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  copyOf,
  execFormOf,
  isInContext,
  pairsOf,
  readDockerfile,
  type Stage,
  textsOf,
} from './dockerfile.js'
import { copyTracked } from './installed.js'

export interface BuiltImage {
  /** The folder that represents `/` of the image. */
  readonly root: string
  /** The numeric `USER` of the image. */
  readonly uid: number
  readonly gid: number
  /** The image's own environment, with paths outside the image. */
  readonly env: Readonly<Record<string, string>>
  /** Entry point without `node`, with paths outside the image. */
  readonly entryPoint: readonly string[]
  readonly command: readonly string[]
}

/** Whether this process may give files to the image's user and run as that user. */
export const isRoot = process.getuid?.() === 0

/** Builds from the current content of the files that git tracks, with `--build-arg`s. `directory` must be empty. */
export const buildImage = (
  directory: string,
  buildArgs: Readonly<Record<string, string>> = {},
): BuiltImage => {
  const context = join(directory, 'context')
  copyTracked(context, isInContext)
  const stages = readDockerfile()
  const rootOf = (stage: Stage) => join(directory, stage.name ?? 'image')
  for (const stage of stages) {
    const from = (name: string | null) => (name === null ? context : join(directory, name))
    buildStage(stage, rootOf(stage), from, buildArgs)
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

const buildStage = (
  stage: Stage,
  root: string,
  from: (stage: string | null) => string,
  buildArgs: Readonly<Record<string, string>>,
): void => {
  let workingDirectory = root
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  chmodSync(root, 0o755)
  // Of the base, the running Node stands for its program.
  if (stage.image.startsWith('node:')) symlinkSync(process.execPath, join(root, 'usr/local/bin/node'))
  const args = Object.assign({}, ...textsOf(stage, 'ARG').map(pairsOf), buildArgs)
  for (const { keyword, text } of stage.instructions) {
    if (keyword === 'WORKDIR') {
      workingDirectory = join(root, text)
      mkdirSync(workingDirectory, { recursive: true })
    }
    if (keyword === 'COPY') {
      const { from: name, sources, target } = copyOf(text)
      const to = target.startsWith('/') ? join(root, target) : join(workingDirectory, target)
      for (const source of sources) copy(join(from(name), source), to)
    }
    if (keyword === 'RUN') run(outsideOf(text, root), workingDirectory, args)
  }
}

/** Copies like COPY: a folder's content into the target, and a file into a target that ends with a slash. */
const copy = (source: string, to: string): void => {
  const into = statSync(source).isFile() && to.endsWith('/') ? join(to, basename(source)) : to
  cpSync(source, into, { recursive: true, verbatimSymlinks: true })
}

/** Replaces absolute paths of the image by outside paths. Drops the owner unless root runs it, as only root can give files away. */
const outsideOf = (command: string, root: string): string => {
  const outside = command.replaceAll(/(?<=\s)\/(?=\w)/g, `${root}/`)
  return isRoot ? outside : outside.replaceAll(/ --(owner|group)=\d+/g, '')
}

/** Runs with a minimal environment, so that nothing in this checkout helps the build. */
const run = (command: string, workingDirectory: string, args: Readonly<Record<string, string>>): void => {
  const { PATH = '', HOME = '/' } = process.env
  const env = { PATH, HOME, ...args }
  execFileSync('/bin/sh', ['-c', command], { cwd: workingDirectory, env, stdio: 'pipe' })
}
