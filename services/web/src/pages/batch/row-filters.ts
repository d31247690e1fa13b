import type { BatchView } from '@plumbline/contract/batch-view'
import type { Choice } from '../../components/field.tsx'
import { verdictsOf } from './verdicts.tsx'

/** The kinds of rows that can be picked from a batch's result; the first, empty, is all of them. */
export function rowFilters({ product, rows }: BatchView): readonly Choice[] {
  return [
    { value: '', text: 'All rows' },
    ...verdictsOf(product).map(({ key, name }) => ({ value: key, text: name })),
    ...(rows.known === 0 ? [] : [{ value: 'known', text: 'Known' }]),
    { value: 'refused', text: 'Refused' },
    { value: 'error', text: 'Errors' },
  ]
}
