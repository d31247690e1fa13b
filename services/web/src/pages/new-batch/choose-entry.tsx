import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { SelectField } from '../../components/field.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { visibleText } from '../../components/text.tsx'
import type { Changes } from './changes.ts'

/** Asks which file of a ZIP file is to be read. */
export function ChooseEntry({
  entries,
  changes: { change, isBusy },
}: {
  /** Names of the files, the first ones if they are many. */
  readonly entries: readonly string[]
  readonly changes: Changes
}): JSX.Element {
  const [entry, setEntry] = useState(entries[0])
  return (
    <Card title="Several files">
      <Notice tone="warn">
        The ZIP file holds more than one file, and a batch is one of them. To check others too,
        upload them by themselves.
      </Notice>
      {entry !== undefined && (
        <>
          <SelectField
            label="File to read"
            value={entry}
            choices={entries.map((name) => ({ value: name, text: visibleText(name) }))}
            onChange={setEntry}
          />
          <div>
            <Button kind="primary" busy={isBusy} onClick={() => change({ entry })}>
              Read this file
            </Button>
          </div>
        </>
      )}
    </Card>
  )
}
