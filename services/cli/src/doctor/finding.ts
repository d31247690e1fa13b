import type { EngineHealth } from '@plumbline/ports/engine'

/** Result of one examination of the doctor. */
export interface Finding extends EngineHealth {
  /** How to correct the problem; null if there is none. */
  readonly advice: string | null
}

/** A finding without a problem. */
export function ok(name: string, detail: string): Finding {
  return { name, status: 'ok', detail, advice: null }
}

/** A finding about something that works with restrictions, is switched off, or has failed. */
export function trouble(
  name: string,
  status: 'degraded' | 'failed' | 'off',
  detail: string,
  advice: string,
): Finding {
  return { name, status, detail, advice }
}

/** Runs an examination; an error becomes its finding. */
export async function attempt(
  name: string,
  advice: string,
  examine: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await examine()
  } catch (error) {
    const detail = error instanceof Error ? error.message || error.name : String(error)
    return [trouble(name, 'failed', detail.replaceAll(/\s+/g, ' '), advice)]
  }
}
