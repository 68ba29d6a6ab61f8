/** What a run on another machine needs of a ledger: its text, moved to the clock of that machine, and a ledger that assumes the worst. */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '../../base/errors.js'
import { ledgerError } from '../errors.js'
import { ledgerLine, parseLine } from './ledger-arithmetic.js'

/** Whether a file is named as a ledger. */
export const isLedgerName = (name: string): boolean => /^sent-requests-[a-z0-9._-]+\.ndjson$/.test(name)

/** The file names of the ledgers in a directory. Throws an error `ledger_unwritable`. */
export const ledgerNames = (directory: string): readonly string[] => {
  try {
    return readdirSync(directory).filter(isLedgerName)
  } catch (error) {
    throw ledgerError(directory, 'read', error)
  }
}

/** Empty if there is no ledger of this name. Throws an error `ledger_unwritable`. */
export const readLedgerText = (directory: string, name: string): string => {
  const path = join(directory, name)
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return ''
    throw ledgerError(path, 'read', error)
  }
}

/** A kill leaves the old ledger or the new one. No process may have it open. Throws an error `ledger_unwritable`. */
export const replaceLedgerText = (directory: string, name: string, text: string): void => {
  const path = join(directory, name)
  try {
    writeFileSync(`${path}.new`, text, 'latin1')
    renameSync(`${path}.new`, path)
  } catch (error) {
    throw ledgerError(path, 'written', error)
  }
}

/** Moves all times by `byMs`. Lines that cannot be read stay: they count as requests of this moment. */
export const movedLedgerText = (text: string, byMs: number): string =>
  text
    .split('\n')
    .map((line) => {
      const entry = parseLine(line)
      return entry === null ? line : ledgerLine(entry.id, entry.event, Math.max(0, entry.at + byMs)).trimEnd()
    })
    .join('\n')

/** The ledger of a run that sent `requests` requests and lost their answers at `nowMs`. The run after the next need not wait for them again. */
export const fullLedgerText = (requests: number, nowMs: number): string =>
  Array.from({ length: requests }, (_, place) =>
    [ledgerLine(place + 1, 'send', nowMs), ledgerLine(place + 1, 'loss', nowMs)].join(''),
  ).join('')
