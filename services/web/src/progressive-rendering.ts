import { useEffect, useState } from 'preact/hooks'

/**
 * Number of parts of a page to render: one at first, and one more in each later task, so that the
 * browser can paint and handle input in between. Later parts are below earlier ones.
 */
export function useProgressiveRendering(partCount: number): number {
  const [drawn, setDrawn] = useState(1)
  useEffect(() => {
    if (drawn >= partCount) return undefined
    const timer = setTimeout(() => setDrawn(drawn + 1))
    return () => clearTimeout(timer)
  }, [drawn, partCount])
  return Math.min(drawn, partCount)
}
