import { Writable, type Readable } from 'node:stream'
import type { Client } from '@plumbline/client/client'
import { MCP_LIMITS } from '@plumbline/contract/mcp'
import type { Sdk } from './sdk.ts'
import { createToolServer } from './server.ts'

/** Streams of JSON-RPC messages, one a line. */
export interface StdioOptions {
  readonly input: Readable
  readonly write: (text: string) => void
  readonly tell: (text: string) => void
  readonly stop: AbortSignal
}

/** Serves tools over standard input and output until the input ends or the program stops. */
export async function serveStdio(
  sdk: Sdk,
  client: Client,
  { input, write, tell, stop }: StdioOptions,
): Promise<void> {
  const mcp = createToolServer(sdk, { client, onError: (error) => tell(`${String(error)}\n`) })
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      write(chunk.toString())
      done()
    },
  })
  const bound = { maxBufferSize: MCP_LIMITS.messageBytes }
  const transport = new sdk.StdioServerTransport(input, output, bound)
  const ended = new Promise<void>((resolve) => {
    const end = (): void => resolve()
    input.once('end', end).once('close', end)
    stop.addEventListener('abort', end, { once: true })
    if (stop.aborted) end()
    Object.assign(mcp.server, {
      onclose: end,
      onerror: ({ message }: Error) => tell(`${message.slice(0, 500)}\n`),
    })
  })
  await mcp.connect(transport)
  await ended
  await mcp.close()
}
