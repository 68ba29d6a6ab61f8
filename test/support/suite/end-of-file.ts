/** vitest runs this before each test file. A module that several files share is loaded once, and could not register it for each. */
import { afterAll } from 'vitest'
import { endFile } from '../files/temporary.js'

afterAll(endFile)
