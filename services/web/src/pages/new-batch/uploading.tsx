import type { BatchView } from '@plumbline/contract/batch-view'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { sentenceOf } from '../../api/http.ts'
import { uploadBatch, type Upload } from '../../api/upload.ts'
import { useAnnounce } from '../../components/announcer.tsx'
import { Button } from '../../components/button.tsx'
import { Foreign } from '../../components/text.tsx'
import * as format from '../../format.ts'

/** State of an upload. */
export interface UploadState {
  readonly isSending: boolean
  /** The file being sent. */
  readonly file: File | null
  /** Share of the file that was sent, 0 to 1. */
  readonly share: number
  readonly fault: string | null
  readonly send: (upload: Upload) => void
  readonly stop: () => void
}

/** Uploads one file at a time; leaving the page aborts it, which the browser asks about first. */
export function useUpload(onReceived: (batch: BatchView) => void): UploadState {
  const [file, setFile] = useState<File | null>(null)
  const [share, setShare] = useState(0)
  const [fault, setFault] = useState<string | null>(null)
  const sending = useRef<AbortController | null>(null)
  useEffect(() => () => sending.current?.abort(), [])
  const isSending = file !== null
  useEffect(() => {
    if (!isSending) return undefined
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    document.addEventListener('click', askToFollow, { capture: true })
    return () => {
      removeEventListener('beforeunload', ask)
      document.removeEventListener('click', askToFollow, { capture: true })
    }
  }, [isSending])
  const send = async (upload: Upload): Promise<void> => {
    sending.current?.abort()
    const mine = new AbortController()
    sending.current = mine
    setFile(upload.file)
    setShare(0)
    setFault(null)
    try {
      const batch = await uploadBatch(upload, { signal: mine.signal, onSent: setShare })
      if (!mine.signal.aborted) onReceived(batch)
    } catch (error) {
      if (!mine.signal.aborted) setFault(sentenceOf(error))
    } finally {
      if (sending.current === mine) {
        sending.current = null
        setFile(null)
      }
    }
  }
  return {
    isSending,
    file,
    share,
    fault,
    send: (upload) => void send(upload),
    stop: () => {
      sending.current?.abort()
      sending.current = null
      setFile(null)
    },
  }
}

/** Asks before a link of the app is followed, of which the browser knows nothing. */
function askToFollow(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const isElsewhere = link !== null && link.pathname !== location.pathname
  if (!isElsewhere || event.ctrlKey || event.metaKey || event.shiftKey) return
  if (confirm('Leaving this page stops the upload. Leave it all the same?')) return
  event.preventDefault()
  event.stopPropagation()
}

/** Progress and result of an upload. */
export function Uploading({ upload }: { readonly upload: UploadState }): JSX.Element {
  const announce = useAnnounce()
  const percent = format.percent(upload.share)
  useEffect(() => announce(`${percent} sent.`, true), [percent])
  const bytes = upload.file?.size ?? 0
  return (
    <div class="stack tight">
      <div class="row spread">
        <Foreign text={upload.file?.name ?? ''} clip />
        <Button small onClick={upload.stop}>
          Stop the upload
        </Button>
      </div>
      <progress class="meter" max={1} value={upload.share} aria-label="Upload" />
      <div class="row spread small muted number">
        <span>{upload.share < 1 ? percent : 'Sent; the service is storing it'}</span>
        <span>
          {format.size(Math.round(bytes * upload.share))} of {format.size(bytes)}
        </span>
      </div>
      <p class="small muted">Stay on this page until then: leaving it stops the upload.</p>
    </div>
  )
}
