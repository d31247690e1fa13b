import type { AccountView } from '@plumbline/contract/account'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { accountQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CountryField } from '../../components/country-field.tsx'
import { Field, TextField } from '../../components/field.tsx'
import { Notice } from '../../components/page.tsx'
import * as format from '../../format.ts'

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
  const box = useRef<HTMLDivElement>(null)
  const limits = useQuery(accountQuery).data?.limits
  const { isOver, isMany } = useDrop((file) => {
    // A drop while another is being sent does not stop that.
    if (box.current?.closest('[hidden]') === null) onFile(file)
  })
  return (
    <div ref={box} class={isOver ? 'drop over stack' : 'drop stack'}>
      {isMany && <Notice tone="bad">Drop one file at a time: of several, none was sent.</Notice>}
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
          Or drop it on this page. CSV, TSV, Excel, OpenDocument, text or NDJSON, also zipped. It is
          sent as soon as it is chosen.
          {/* A line of its own from the start, so that nothing moves when they are known. */}
          <br />
          {limits === undefined ? '\u00A0' : limitsText(limits)}
        </div>
      </div>
    </div>
  )
}

function limitsText({ upload_bytes: bytes, upload_rows: rows }: AccountView['limits']): string {
  return `${format.size(bytes)} and ${format.counted(rows, 'row')} at most.`
}

/**
 * Takes a file that is dropped anywhere on the page, which the browser would open in place of it
 * beside the field.
 */
function useDrop(onFile: (file: File | undefined) => void): {
  readonly isOver: boolean
  /** Whether the last drop was of several files, of which none is taken. */
  readonly isMany: boolean
} {
  const [isOver, setOver] = useState(false)
  const [isMany, setMany] = useState(false)
  const take = useRef(onFile)
  take.current = onFile
  useEffect(() => {
    const over = (event: DragEvent): void => {
      // A text that is dragged into a field is the browser's.
      if (event.dataTransfer?.types.includes('Files') !== true) return
      event.preventDefault()
      setOver(true)
    }
    const leave = ({ relatedTarget }: DragEvent): void => {
      if (relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent): void => {
      const files = event.dataTransfer?.files
      if (files === undefined || files.length === 0) return
      event.preventDefault()
      setOver(false)
      setMany(files.length > 1)
      if (files.length === 1) take.current(files[0])
    }
    document.addEventListener('dragover', over)
    document.addEventListener('dragleave', leave)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', over)
      document.removeEventListener('dragleave', leave)
      document.removeEventListener('drop', drop)
    }
  }, [])
  return { isOver, isMany }
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
