import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import two from './serve2.cjs';

two.serve({ toNodeHandler, createMcpHandler, McpServer, Server, serveStdio, z });
