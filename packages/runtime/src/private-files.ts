/**
 * Sets the umask so that new files and folders are accessible to their owner only. To be called at
 * the start of a program.
 */
export function keepFilesPrivate(): void {
  process.umask(0o077)
}
