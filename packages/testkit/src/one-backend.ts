import { backends, type Backend } from './backends.ts'
import { isSoak } from './soak.ts'

/**
 * One backend, for tests of what is above or behind the queue: refusals and answers of routes, what is
 * read from a file and written to a result. Files choose different ones, so that both have such tests;
 * `npm run soak` runs them on all backends.
 *
 * @param preferred the backend to use if it is installed
 */
export function oneBackend(preferred: Backend['name']): readonly Backend[] {
  const all = backends()
  if (isSoak()) return all
  const chosen = all.filter(({ name }) => name === preferred)
  return chosen.length > 0 ? chosen : all
}

/** Whether `oneBackend` has this one, for tests in a block that runs on each of them. */
export function isOneBackend(name: Backend['name'], preferred: Backend['name']): boolean {
  return oneBackend(preferred).some((backend) => backend.name === name)
}
