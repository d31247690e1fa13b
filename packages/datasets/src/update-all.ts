import { mkdir } from 'node:fs/promises'
import { updateRdapList } from './rdap-update.ts'
import { mirrorAt } from './sources.ts'
import { isStopped, type SourceUpdate, updateLists, type UpdateOptions } from './update.ts'
import { DATABASE_SOURCES, UPDATED_FILES, updateDatabases } from './update-databases.ts'
import { noteUpdateEnd, noteUpdateStart, putBackRecord, readUpdateRecord } from './update-record.ts'

/** Settings of an update besides the built-in public sources. */
export interface UpdateChoice {
  readonly rdapUrl: string
  /** The operator's own databases, which are not fetched. */
  readonly cityDb: string | undefined
  readonly asnDb: string | undefined
  /** `https://host/path` is fetched as `<mirror>/host/path`; unset: from its original URL. */
  readonly mirror?: string | undefined
}

/**
 * Fetches the public lists, the list of RDAP servers and the IP databases into a folder, and writes
 * a record of the update there. A file that cannot be fetched or is implausible stays unchanged. An
 * update that is stopped keeps what has come, and leaves the record as it was.
 *
 * @throws if the folder cannot be written, and the signal's reason if it is stopped
 */
export async function updateAll(
  given: Omit<UpdateOptions, 'sources'>,
  { rdapUrl, cityDb, asnDb, mirror }: UpdateChoice,
): Promise<readonly SourceUpdate[]> {
  const now = given.now ?? (() => new Date())
  const mirrored = mirror === undefined ? (url: string): string => url : mirrorAt(mirror)
  const options: Omit<UpdateOptions, 'sources'> = {
    ...given,
    fetch: (request) => given.fetch({ ...request, url: mirrored(request.url) }),
  }
  await mkdir(options.dir, { recursive: true })
  const before = await readUpdateRecord(options.dir)
  const record = await noteUpdateStart(options.dir, now())
  const lists = await updateLists(options)
  const rdap = await updateRdapList({ ...options, url: rdapUrl })
  const isOwn = (file: string): boolean =>
    (file === UPDATED_FILES.city ? cityDb : asnDb) !== undefined
  const sources = DATABASE_SOURCES.filter(({ file }) => !isOwn(file))
  const databases = await updateDatabases({ ...options, sources })
  if (isStopped(options.signal)) {
    await putBackRecord(options.dir, before)
    options.signal.throwIfAborted()
  }
  const updates = [...lists, rdap, ...databases]
  await noteUpdateEnd(options.dir, record, updates, now())
  return updates
}
