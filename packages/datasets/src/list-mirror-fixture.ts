import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A mirror of public sources on loopback, with the files it is given. */
export interface ListMirror extends AsyncDisposable {
  readonly url: string
  /** Text by path; null: never replies. Other paths give 404. */
  readonly files: Map<string, string | null>
  /** Requested paths. */
  readonly asked: string[]
}

/** URL of a short list, of the source `bingbot`, and the file that it becomes. */
export const SHORT_LIST = {
  path: '/www.bing.com/toolbox/bingbot.json',
  file: 'allow.bingbot.txt',
} as const

/** That list with 20 blocks of `192.0.<third>.0/24`. */
export function shortList(third: number): string {
  const prefixes = Array.from({ length: 20 }, (_, index) => ({
    ipv4Prefix: `192.0.${third + index}.0/24`,
  }))
  return JSON.stringify({ creationTime: '2026-11-01T00:00:00', prefixes })
}

/** Opens a mirror without files. */
export async function openListMirror(): Promise<ListMirror> {
  const files = new Map<string, string | null>()
  const asked: string[] = []
  const server = createServer(({ url = '' }, response) => {
    asked.push(url)
    const text = files.get(url)
    if (text === null) return
    response.writeHead(text === undefined ? 404 : 200).end(text)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  // Safe because the server listens on TCP.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    files,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
