import { check } from './check.ts'
import { takePictures } from './pictures.ts'

// npm run web -- check: the size of the web app, violations found by axe, scores of Lighthouse for the
// main pages, and response times to input with many batches, on a local service.
// npm run web -- pictures: screenshots of every page.

const [what] = process.argv.slice(2)
switch (what) {
  case 'check':
    process.exitCode = (await check()) ? 0 : 1
    break
  case 'pictures':
    await takePictures()
    break
  default:
    console.error('Usage: npm run web -- check | pictures')
    process.exitCode = 2
}
