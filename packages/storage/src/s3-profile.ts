import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { orAbsent } from '@plumbline/runtime/or-absent'
import type { Environment } from '@plumbline/runtime/settings'

/**
 * The settings of the profile in use, from the files of the AWS tools; the credentials file takes
 * precedence.
 */
export async function readProfile(environment: Environment): Promise<ReadonlyMap<string, string>> {
  const name = environment['AWS_PROFILE'] || 'default'
  const folder = join(environment['HOME'] ?? '', '.aws')
  const config = environment['AWS_CONFIG_FILE'] || join(folder, 'config')
  const keys = environment['AWS_SHARED_CREDENTIALS_FILE'] || join(folder, 'credentials')
  return new Map([
    ...sectionOf(await textOfFile(config), [name, `profile ${name}`]),
    ...sectionOf(await textOfFile(keys), [name]),
  ])
}

/** Source: AWS, "Configuration and credential file settings". Nested settings are ignored. */
function sectionOf(text: string, names: readonly string[]): readonly (readonly [string, string])[] {
  const settings: [string, string][] = []
  let isOurs = false
  for (const line of text.split(/\r?\n/)) {
    const [, section] = /^\s*\[([^\]]+)\]/.exec(line) ?? []
    if (section !== undefined) {
      isOurs = names.includes(section.trim().replaceAll(/\s+/g, ' '))
      continue
    }
    const [, key, value] = /^([^\s#;=]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (isOurs && key !== undefined && value) settings.push([key.toLowerCase(), value])
  }
  return settings
}

async function textOfFile(path: string): Promise<string> {
  return (await orAbsent(readFile(path, 'utf8'))) ?? ''
}
