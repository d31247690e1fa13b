import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { CountryField } from '../../components/country-field.tsx'
import { Field, TextField } from '../../components/field.tsx'

/** The file to upload and its options, besides the product. */
export interface Chosen {
  readonly file: File
  readonly name: string
  readonly defaultCountry: string
}

/** Accepts a file chosen, dropped or pasted as lines; the upload begins at once. */
export function ChooseFile({
  onChoose,
}: {
  readonly onChoose: (chosen: Chosen) => void
}): JSX.Element {
  const [name, setName] = useState('')
  const [country, setCountry] = useState('')
  const choose = (file: File | null | undefined): void => {
    if (file != null) onChoose({ file, name, defaultCountry: country })
  }
  return (
    <>
      <details class="details">
        <summary>More options</summary>
        <div class="columns">
          <Field
            label="Title"
            value={name}
            onInput={setName}
            maxLength={200}
            hint="What the batch is called in your list."
          />
          <CountryField value={country} onChange={setCountry} />
        </div>
      </details>
      <DropZone onFile={choose} />
      <Paste onFile={choose} />
    </>
  )
}

function DropZone({ onFile }: { readonly onFile: (file: File | undefined) => void }): JSX.Element {
  const id = useId()
  const [isOver, setOver] = useState(false)
  return (
    <div
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        onFile(event.dataTransfer?.files[0])
      }}
    >
      <div class="field">
        <label for={id}>File</label>
        <input
          id={id}
          class="input"
          type="file"
          aria-describedby={`${id}-below`}
          onChange={({ currentTarget: input }) => {
            onFile(input.files?.[0])
            // The same file can be chosen again.
            input.value = ''
          }}
        />
        <div id={`${id}-below`} class="hint">
          Or drop it here. CSV, TSV, Excel, OpenDocument, text or NDJSON, also zipped; 512 MB and
          5,000,000 rows at most. It is sent as soon as it is chosen.
        </div>
      </div>
    </div>
  )
}

function Paste({ onFile }: { readonly onFile: (file: File) => void }): JSX.Element {
  const [text, setText] = useState('')
  return (
    <details class="details">
      <summary>Paste lines instead</summary>
      <div class="stack">
        <TextField
          label="Lines"
          value={text}
          onInput={setText}
          hint="One value a line, or rows copied from a spreadsheet."
        />
        <div>
          <Button
            disabled={text.trim() === ''}
            onClick={() => onFile(new File([text], 'pasted.txt', { type: 'text/plain' }))}
          >
            Submit these lines
          </Button>
        </div>
      </div>
    </details>
  )
}
