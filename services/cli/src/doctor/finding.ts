import type { EngineHealth } from '@plumbline/ports/engine'

/** State of one thing that the doctor has examined. */
export interface Finding extends EngineHealth {
  /** What to do about it; null if all is well. */
  readonly advice: string | null
}

/** It works. */
export function ok(name: string, detail: string): Finding {
  return { name, status: 'ok', detail, advice: null }
}

/** It works with restrictions, is switched off, or has failed. */
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
