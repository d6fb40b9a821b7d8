/**
 * The portal: loads texts and session in parallel, then renders. app.tsx chooses the screen; only http.ts and
 * session.ts call the service.
 */
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { resume } from './session.ts'
import { takeOver } from './sign-in/draft.ts'
import { loadWords, preferredLanguage } from './text/text.ts'

const loading = loadWords(preferredLanguage())
resume()
const words = await loading
takeOver()
createRoot(document.querySelector('#portal')!).render(<App words={words} />)
