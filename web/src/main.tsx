/**
 * The portal: the words and the session are fetched side by side, then the page is drawn. Screens are chosen in
 * app.tsx; http.ts and session.ts alone speak to the service.
 */
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { resume } from './session.ts'
import { loadWords, preferredLanguage } from './text/text.ts'

const loading = loadWords(preferredLanguage())
resume()
const words = await loading
createRoot(document.querySelector('#portal')!).render(<App words={words} />)
