import type { EngineHealth } from '@plumbline/ports/engine'

/** One line of the doctor. */
export interface Finding extends EngineHealth {
  /** What to do about it; null where all is well. */
  readonly advice: string | null
}

/** All is well. */
export function ok(name: string, detail: string): Finding {
  return { name, status: 'ok', detail, advice: null }
}

/** Something is less than it could be, is switched off, or does not work. */
export function trouble(
  name: string,
  status: 'degraded' | 'failed' | 'off',
  detail: string,
  advice: string,
): Finding {
  return { name, status, detail, advice }
}

/** Runs a look that may throw; its failure is a finding too. */
export async function attempt(
  name: string,
  advice: string,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await look()
  } catch (error) {
    const detail = error instanceof Error ? error.message || error.name : String(error)
    return [trouble(name, 'failed', detail.replaceAll(/\s+/g, ' '), advice)]
  }
}
