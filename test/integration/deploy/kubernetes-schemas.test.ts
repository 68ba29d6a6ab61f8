/**
 * Kubernetes accepts every manifest, and what kustomize makes of every variant, by the schemas of each version since the first that the
 * how-to page names.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDirectory } from './dockerfile.js'

const FIRST = '1.29'

test('the page names the oldest Kubernetes that is tried', async () => {
  const page = await readFile(join(projectDirectory, 'docs/how-to/kubernetes.md'), 'utf8')
  expect(page).toContain(`(${FIRST} or newer)`)
})
