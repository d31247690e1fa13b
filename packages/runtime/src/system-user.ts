import { userInfo } from 'node:os'

/** The user of the operating system that this process runs as, by name where it has one. */
export function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number that no table of users names.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
