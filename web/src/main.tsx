/**
 * The portal: loads texts and session in parallel, then renders. app.tsx chooses the screen; only http.ts and
 * session.ts call the service.
 */
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { takeOver } from './draft.ts'
import { resume } from './session.ts'
import { loadWords, preferredLanguage } from './text/text.ts'

const loading = loadWords(preferredLanguage())
resume()
const words = await loading
const root = createRoot(document.querySelector('#portal')!)
takeOver()
// In the same task as takeOver: otherwise whatever is typed in between is lost.
flushSync(() => root.render(<App words={words} />))
