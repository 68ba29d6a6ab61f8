/** The default theme with the fonts of the reader's system, and with diagrams. */
import DefaultTheme from 'vitepress/theme-without-fonts'
import { Mermaid } from './mermaid.mjs'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component('Mermaid', Mermaid),
}
