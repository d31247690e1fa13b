import type { BatchPreview } from '@plumbline/contract/batch-preview'
import { KNOWN, takesKnown, VENDORS } from '@plumbline/contract/vendors'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { Field, SelectField, type Choice } from '../../components/field.tsx'
import { Card, Notice } from '../../components/page.tsx'
import * as format from '../../format.ts'
import type { Changes } from './changes.ts'

/** Ages of verdicts that are offered, in days. */
const OFFERED_DAYS = [30, 90] as const

/** Fields to accept another service's verdicts on the addresses of a file, and for their date. */
export function Known({
  preview: { product, columns, known, rows },
  changes: { wished, change, isBusy },
}: {
  readonly preview: BatchPreview
  readonly changes: Changes
}): JSX.Element | null {
  const at = known?.at ?? ''
  const [day, setDay] = useState(at)
  const hasAddresses = columns.some(({ field }) => field === 'email')
  if (!takesKnown(product) || (!hasAddresses && known === null)) return null
  const kept = wished.known === undefined ? keptText(known) : (wished.known ?? '')
  return (
    <Card title="Verdicts you have already">
      <SelectField
        label="Verdicts of another service"
        value={kept}
        choices={choicesOf(known)}
        onChange={(value) => change(value === '' ? { known: null } : { known: value })}
        hint={`For an export of ${Object.values(VENDORS).join(', ')}. A row that was found valid or invalid no longer ago than that is free and gets no result. Up to ${KNOWN.askedRows} of them are checked and charged all the same, to show where the service errs.`}
      />
      {kept !== '' && (
        <div class="row bottom">
          <div class="grow">
            <Field
              label="Day of the verdicts"
              type="date"
              value={day}
              onInput={setDay}
              hint="Only where the file has no column that says when each was made."
            />
          </div>
          <Button
            disabled={day === at}
            busy={isBusy}
            onClick={() => change({ known_at: day === '' ? null : day })}
          >
            Take this day
          </Button>
        </div>
      )}
      {known !== null && rows?.known === 0 && (
        <Notice>
          No row is kept: of none the verdict is clear and new enough, or there are no more of them
          than are checked all the same.
        </Notice>
      )}
    </Card>
  )
}

/** The value that the service expects; empty if no verdicts are accepted. */
function keptText(known: BatchPreview['known']): string {
  return known === null ? '' : `${known.days}d`
}

/** The offered ages, and one that was set by other means. */
function choicesOf(known: BatchPreview['known']): readonly Choice[] {
  const days = new Set<number>([...OFFERED_DAYS, ...(known === null ? [] : [known.days])])
  return [
    { value: '', text: 'Check every row anew' },
    ...[...days]
      .toSorted((one, next) => one - next)
      .map((count) => ({
        value: `${count}d`,
        text: `Keep those of the last ${format.counted(count, 'day')}`,
      })),
  ]
}
