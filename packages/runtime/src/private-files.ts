/** Has every file and folder that this process makes be for its own user alone. For the start of a program. */
export function keepFilesPrivate(): void {
  process.umask(0o077)
}
