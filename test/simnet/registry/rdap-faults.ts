import type { IncomingMessage, ServerResponse } from 'node:http'

/** One RDAP request to be answered badly. */
export interface RdapFaultContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The address that was asked. */
  readonly url: string
}

/** Bad answers by name. */
export const RDAP_FAULTS: Readonly<Record<string, (context: RdapFaultContext) => void>> = {
  'server-error': ({ response }) => void response.writeHead(500).end(),
}
