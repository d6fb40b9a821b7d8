/** The console for the school's staff: the portal's session, parts and style, with screens and words of its own. */
import { createRoot } from 'react-dom/client'
import { resume } from '../session.ts'
import { preferredLanguage } from '../text/text.ts'
import { Console } from './console.tsx'
import { loadConsoleWords } from './text/console-words.ts'

const loading = loadConsoleWords(preferredLanguage())
resume()
const words = await loading
createRoot(document.querySelector('#portal')!).render(<Console words={words} />)
