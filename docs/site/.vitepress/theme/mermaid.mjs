/** Draws a diagram in the browser, in the colours of the theme. Until then, and without JavaScript, its source is shown. */
import { useData } from 'vitepress'
import { defineComponent, h, onMounted, ref, watch } from 'vue'

let drawn = 0

export const Mermaid = defineComponent({
  props: { code: { type: String, required: true } },
  setup: (props) => {
    const { isDark } = useData()
    const svg = ref('')
    const source = decodeURIComponent(props.code)
    const draw = async () => {
      const { default: mermaid } = await import('mermaid')
      mermaid.initialize({
        startOnLoad: false,
        securityLevel: 'strict',
        theme: isDark.value ? 'dark' : 'neutral',
        fontFamily: 'inherit',
        // Otherwise a chart is as narrow as the window, and its labels overlap.
        gantt: { useWidth: 720 },
      })
      drawn += 1
      svg.value = (await mermaid.render(`diagram-${drawn}`, source)).svg
    }
    onMounted(draw)
    watch(isDark, draw)
    return () =>
      svg.value === ''
        ? h('pre', { class: 'diagram' }, source)
        : h('div', { class: 'diagram', innerHTML: svg.value })
  },
})
