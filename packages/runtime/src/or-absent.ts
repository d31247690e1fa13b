import { hasCode } from './error-code.ts'

/** What a call of the file system gives; undefined if the file or folder does not exist. */
export async function orAbsent<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}
