import type { EraseRequest, ErasureView } from '@plumbline/contract/erasure'
import type { Db } from '@plumbline/db/database'
import { createPostgresMemory } from '@plumbline/db/memory'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { beginErasure } from '@plumbline/pipeline/erasure'
import type { FactStores } from '@plumbline/pipeline/erasure-stores'
import type { Pipeline } from '@plumbline/pipeline/pipeline'
import { workErasure } from '@plumbline/pipeline/work-erasures'
import { findMarks, readFolder, readPacked, readTables, type Occurrence } from './marks.ts'
import { openTestPipeline, type TestPipeline } from './pipeline.ts'

const NEVER = new AbortController().signal

/** A pipeline for tests of erasures. */
export interface ErasureHarness extends TestPipeline {
  readonly facts: FactStores
  /** Begins an erasure as the account's live key. */
  begin(request: EraseRequest): Promise<ErasureView>
  /**
   * Completes all erasures, including delayed ones; on the stores of another pipeline if one is given.
   */
  work(pipeline?: Pipeline): Promise<void>
  /** Runs a batch to its end. */
  runBatch(content: string, options?: Parameters<TestPipeline['read']>[1]): Promise<string>
  /** Occurrences of marks in tables (compressed values too) and files. */
  traces(marks: readonly string[]): Promise<readonly Occurrence[]>
}

/**
 * Fact stores of a test's database: phone numbers have durable facts, since these are paid for, all other
 * subjects cached ones.
 */
export function factStores(db: Db): FactStores {
  return {
    memory: createPostgresMemory(db),
    durable: createPostgresMemory(db, { durable: true }),
    namesOf: (check, subject) => {
      const names = [`${check} ${subject}`]
      return check === 'phone' ? { memory: [], durable: names } : { memory: names, durable: [] }
    },
  }
}

/** Opens a harness; a chunk has three rows. */
export async function openErasureHarness(): Promise<ErasureHarness> {
  const harness = await openTestPipeline({ limits: { chunkRecords: 3, saveMs: 3_600_000 } })
  const { pipeline, owner } = harness
  const facts = factStores(pipeline.db)
  return {
    ...harness,
    facts,
    begin: async (request) => {
      const views: ErasureView[] = []
      await beginErasure(pipeline, owner, request, async (_tx, view) => void views.push(view))
      const [view] = views
      if (view === undefined) throw new Error('no erasure was begun')
      return view
    },
    work: async (by = pipeline) => {
      await pipeline.db.pool.query("update erasures set lease_until = '-infinity'")
      while (await workErasure({ pipeline: by, facts }, NEVER)) {
        // Until none waits.
      }
    },
    runBatch: async (content, options = {}) => {
      const asked = { product: 'contact-intel', explain: true, defaultCountry: 'GB' } as const
      const { id } = await harness.read(content, { ...asked, ...options })
      await harness.answer()
      await closeFinishedBatches(pipeline.db)
      await harness.workStages()
      return id
    },
    traces: async (marks) => {
      const find = findMarks(marks, marks)
      const stored = [...(await readTables(pipeline.db)), ...(await readPacked(pipeline.db))]
      const files = await readFolder(harness.files)
      return [...stored, ...files].flatMap(({ place, text }) => find(place, text))
    },
  }
}
