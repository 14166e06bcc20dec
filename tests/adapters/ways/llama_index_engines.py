"""What applications build on a LlamaIndex retriever: engines, workflows, agents; and the rows that it has to give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adapters.ways.calls import Calls
from adapters.ways.llama_index_calls import First, Q, managed
from llama_index.core import Settings, get_response_synthesizer
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, LLMMetadata, ToolCallBlock
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RetrieverQueryEngine,
    RetryQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

__all__ = ["AGENTS", "ENGINES"]

ENGINES, AGENTS = Calls(), Calls()


def memory() -> Any:
    """Not their default, which leaves a connection to SQLite open."""
    return ChatMemoryBuffer.from_defaults()


# --- engines -----------------------------------------------------------------------------------------------------


@ENGINES(2)
async def query_engine(r: Any) -> None:
    engine = RetrieverQueryEngine(
        r,
        response_synthesizer=get_response_synthesizer(),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.5)],
        **managed(),
    )
    engine.query(Q)
    await engine.aquery(Q)


@ENGINES(2)
async def streaming_query_engine(r: Any) -> None:
    engine = RetrieverQueryEngine(r, response_synthesizer=get_response_synthesizer(streaming=True))
    list(engine.query(Q).response_gen)
    [text async for text in (await engine.aquery(Q)).async_response_gen()]


@ENGINES(2)
async def retrieve_of_an_engine(r: Any) -> None:
    engine = RetrieverQueryEngine(r, response_synthesizer=get_response_synthesizer())
    engine.retrieve(QueryBundle(Q))
    await engine.aretrieve(QueryBundle(Q))


@ENGINES()
def custom_query_engine(r: Any) -> None:
    class Engine(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            return str(len(r.retrieve(query_str)))

    Engine().query(Q)


@ENGINES()
def citation_engine(r: Any) -> Any:
    return CitationQueryEngine(r, llm=Settings.llm, response_synthesizer=get_response_synthesizer()).query(Q)


@ENGINES()
def transform_engine(r: Any) -> Any:
    from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform

    return TransformQueryEngine(engine_of(r), IdentityQueryTransform()).query(Q)


@ENGINES(2)
def retried_engine(r: Any) -> Any:
    """An answer that is judged bad is asked for again, in other words: another search, not an attempt."""
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

    class Bad(BaseEvaluator):
        def _get_prompts(self) -> Any:
            return {}

        def _update_prompts(self, prompts: Any) -> None: ...

        async def aevaluate(self, *args: Any, **kwargs: Any) -> Any:
            return EvaluationResult(passing=False, response="r", feedback="f")

        def evaluate_response(self, *args: Any, **kwargs: Any) -> Any:
            return EvaluationResult(passing=False, response="r", feedback="f")

    return RetryQueryEngine(engine_of(r), Bad(), max_retries=1).query(Q)


@ENGINES(2)
async def router_engine(r: Any) -> None:
    tools = [QueryEngineTool.from_defaults(engine_of(r), description=name) for name in ("one", "two")]
    engine = RouterQueryEngine(First(every=False), tools, summarizer=Settings.llm)
    engine.query(Q)
    await engine.aquery(Q)


@ENGINES(2)
async def sub_question_engine(r: Any) -> None:
    class Two(BaseQuestionGenerator):
        def _get_prompts(self) -> Any:
            return {}

        def _update_prompts(self, prompts: Any) -> None: ...

        def generate(self, tools: Any, query: Any) -> Any:
            return [SubQuestion(sub_question=text, tool_name="docs") for text in ("s1", "s2")]

        async def agenerate(self, tools: Any, query: Any) -> Any:
            return self.generate(tools, query)

    tools = [QueryEngineTool.from_defaults(engine_of(r), name="docs", description="docs")]
    engine = SubQuestionQueryEngine.from_defaults(
        tools, question_gen=Two(), use_async=False, llm=Settings.llm, verbose=False
    )
    engine.query(Q)


@ENGINES(4)
async def context_chat_engine(r: Any) -> None:
    engine = ContextChatEngine(r, llm=MockLLM(), memory=memory(), prefix_messages=[])
    await chat_every_way(engine)


@ENGINES(4)
async def condense_plus_context_chat_engine(r: Any) -> None:
    await chat_every_way(CondensePlusContextChatEngine(r, llm=MockLLM(), memory=memory()))


@ENGINES(4)
async def condense_question_chat_engine(r: Any) -> None:
    engine = RetrieverQueryEngine(r, response_synthesizer=get_response_synthesizer(streaming=True))
    plain = CondenseQuestionChatEngine.from_defaults(engine_of(r), llm=MockLLM(), memory=memory())
    streaming = CondenseQuestionChatEngine.from_defaults(engine, llm=MockLLM(), memory=memory())
    plain.chat(Q)
    await plain.achat(Q)
    list(streaming.stream_chat(Q).response_gen)
    [text async for text in (await streaming.astream_chat(Q)).async_response_gen()]


async def chat_every_way(engine: Any) -> None:
    engine.chat(Q)
    await engine.achat(Q)
    list(engine.stream_chat(Q).response_gen)
    [text async for text in (await engine.astream_chat(Q)).async_response_gen()]


def engine_of(retriever: Any) -> RetrieverQueryEngine:
    return RetrieverQueryEngine(retriever, response_synthesizer=get_response_synthesizer(), **managed())


# --- workflows and agents -------------------------------------------------------------------------------------


class Ask(Event):
    text: str


class Found(Event):
    count: int


@AGENTS()
async def workflow_step(r: Any) -> None:
    class Flow(Workflow):
        @step
        async def search(self, event: StartEvent) -> StopEvent:
            return StopEvent(result=len(await r.aretrieve(Q)))

    await Flow().run()


@AGENTS()
async def sync_in_a_workflow_step(r: Any) -> None:
    class Flow(Workflow):
        @step
        async def search(self, event: StartEvent) -> StopEvent:
            return StopEvent(result=len(r.retrieve(Q)))

    await Flow().run()


@AGENTS(3)
async def workflow_that_fans_out(r: Any) -> None:
    class Flow(Workflow):
        @step
        async def begin(self, context: Context, event: StartEvent) -> Ask | None:
            for _ in range(3):
                context.send_event(Ask(text=Q))
            return None

        @step(num_workers=3)
        async def search(self, event: Ask) -> Found:
            return Found(count=len(await r.aretrieve(event.text)))

        @step
        async def end(self, context: Context, event: Found) -> StopEvent | None:
            found = context.collect_events(event, [Found] * 3)
            return StopEvent(result=len(found)) if found else None

    assert await Flow().run() == 3


class Scripted(CustomLLM):
    """Says what the script says."""

    script: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.script.pop(0))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        text = self.script.pop(0)
        yield CompletionResponse(text=text, delta=text)


def search_tools(r: Any) -> list[Any]:
    async def afind(query: str) -> str:
        """Finds."""
        return str(len(await r.aretrieve(query)))

    return [RetrieverTool.from_defaults(r, name="search", description="Searches."), afind]


@AGENTS(2)
async def react_agent(r: Any) -> None:
    script = [
        'Thought: I search.\nAction: search\nAction Input: {"input": "q"}',
        'Thought: I find.\nAction: afind\nAction Input: {"query": "q"}',
        "Thought: I can answer without using any more tools.\nAnswer: done",
    ]
    agent = ReActAgent(tools=search_tools(r), llm=Scripted(script=script))
    assert str(await agent.run(user_msg=Q, memory=memory())) == "done"


@AGENTS(2)
async def function_agent(r: Any) -> None:
    """Two tools at the same time."""
    agent = FunctionAgent(tools=search_tools(r), llm=calling_both())
    assert str(await agent.run(user_msg=Q, memory=memory())) == "done"


@AGENTS(2)
async def agent_workflow(r: Any) -> None:
    agent = FunctionAgent(name="one", description="d", tools=search_tools(r), llm=calling_both())
    assert (
        str(await AgentWorkflow(agents=[agent], root_agent="one").run(user_msg=Q, memory=memory())) == "done"
    )


def calling_both() -> Any:
    from llama_index.core.llms import MockFunctionCallingLLM

    def say(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        if any(message.role.value == "tool" for message in messages):
            return ChatMessage(role="assistant", content="done")
        blocks = [
            ToolCallBlock(tool_call_id="1", tool_name="search", tool_kwargs={"input": Q}),
            ToolCallBlock(tool_call_id="2", tool_name="afind", tool_kwargs={"query": Q}),
        ]
        return ChatMessage(role="assistant", blocks=blocks)

    return MockFunctionCallingLLM(response_generator=say)
