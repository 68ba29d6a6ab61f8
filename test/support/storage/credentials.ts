/** Credentials for a store in this process, which the SDK finds as in production: in the environment. */
import type { Finished } from '../files/temporary.js'

export const STORAGE_CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'AKIATESTTESTTEST0001',
  AWS_SECRET_ACCESS_KEY: 'secret-of-the-test-server-42',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nonexistent/config',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
}

/** Variables that are undefined are removed until the test has finished. */
export const withEnvironment = (
  finished: Finished,
  variables: Readonly<Record<string, string | undefined>>,
): void => {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name]
    set(name, value)
    finished(() => set(name, before))
  }
}

const set = (name: string, value: string | undefined): void => {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
