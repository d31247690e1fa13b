import type { IncomingMessage } from 'node:http'

/** The headers of a message of Node's HTTP as those of `fetch`. */
export function headersOf({ headers }: IncomingMessage): Headers {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  return new Headers(pairs)
}
