import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Names of settings that hold a secret: keys, passwords, and URLs with a password. */
const SECRET =
  /(?:^|_)(?:KEY|KEY_ID|SECRET|PASSWORD|TOKEN)$|^(?:(?:\w+_)?DATABASE(?:_\w+)?|REDIS|SMTP_PROXY|MAIL)_URL$|^OTEL_EXPORTER_OTLP_HEADERS$/

/** Maximum bytes of a secret's file. */
const SECRET_BYTES = 64 * 1024

/** Whether a setting holds a secret: it may be read from a file, and is never shown. */
export function isSecret(name: string): boolean {
  return SECRET.test(name)
}

/** The variable with the path of the secret's file. */
export function fileVariable(name: string): string {
  return `${name}_FILE`
}

/**
 * The secret in a file, without a trailing line break.
 *
 * @throws Error that describes the fault of the file; never with its content
 */
export function readSecretFile(path: string): string {
  // Opening a pipe without a writer would block for ever.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(file).isFile()) throw new Error(`${path} is not a file`)
    const buffer = Buffer.alloc(SECRET_BYTES + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(file, buffer, length, buffer.length - length, null)
    }
    if (length > SECRET_BYTES) throw new Error(`${path} is longer than ${SECRET_BYTES} bytes`)
    const secret = buffer.toString('utf8', 0, length).replace(/\r?\n$/, '')
    if (secret === '') throw new Error(`${path} is empty`)
    return secret
  } finally {
    closeSync(file)
  }
}
