import { chmodSync, chownSync, lchownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** A user of the operating system. */
export interface SystemUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/**
 * Creates a folder for a user, or gives the user an existing one with everything in it that root
 * owns.
 */
export function chownFolder(path: string, user: SystemUser): void {
  if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) {
    chownSync(path, user.uid, user.gid)
    return
  }
  chownTree(path, user)
}

/**
 * Gives a file, or a folder with its content, from root to a user. The content comes first and the
 * folder last, so that no link can be inserted meanwhile; files that root does not own are skipped,
 * and so are files with further hard links.
 */
export function chownTree(path: string, user: SystemUser): void {
  const facts = lstatSync(path, { throwIfNoEntry: false })
  if (facts === undefined || facts.uid !== 0) return
  if (facts.isDirectory()) {
    for (const name of readdirSync(path)) chownTree(join(path, name), user)
    chmodSync(path, 0o700)
    chownSync(path, user.uid, user.gid)
  } else if (facts.isFile() && facts.nlink === 1) lchownSync(path, user.uid, user.gid)
}
