import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type {
  CallToolRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

/** The parts of the SDK of the Model Context Protocol that are used. */
export interface Sdk {
  readonly McpServer: typeof McpServer
  readonly StdioServerTransport: typeof StdioServerTransport
  readonly HttpTransport: typeof WebStandardStreamableHTTPServerTransport
  readonly CallToolRequestSchema: typeof CallToolRequestSchema
  readonly ListToolsRequestSchema: typeof ListToolsRequestSchema
}

/** The error if the SDK is not installed. */
export const SDK_MISSING =
  'MCP is not installed here: run "npm install" in the folder of the service without --omit=optional.'

/** Loads the SDK, an optional dependency; undefined if it is not installed. */
export async function loadSdk(): Promise<Sdk | undefined> {
  try {
    const [mcp, stdio, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/mcp.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ])
    return {
      McpServer: mcp.McpServer,
      StdioServerTransport: stdio.StdioServerTransport,
      HttpTransport: http.WebStandardStreamableHTTPServerTransport,
      CallToolRequestSchema: types.CallToolRequestSchema,
      ListToolsRequestSchema: types.ListToolsRequestSchema,
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
}
