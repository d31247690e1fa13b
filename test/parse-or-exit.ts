import { parseArgs, type ParseArgsConfig } from 'node:util'

/**
 * Parses the arguments of this process. Ends it with status 2, and `usage` on standard error, where an
 * option is unknown or lacks its value.
 */
export function parseOrExit<const Config extends ParseArgsConfig>(
  config: Config,
  usage: string,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(`${error.message}\n${usage}`)
    process.exit(2)
  }
}
