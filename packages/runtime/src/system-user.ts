import { userInfo } from 'node:os'

/** Name of the operating system user that this process runs as, or its number. */
export function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a user id without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
